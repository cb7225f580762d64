"""Libraries that keep threads of their own give right results, run after run."""

from saccade.sandbox import Session


def test_fourier_transforms_with_workers_are_right_run_after_run(confined: Session) -> None:
    transform = "np.allclose(scipy.fft.fft2(x, workers=2), np.fft.fft2(x))"
    result = confined.run(f"import numpy as np, scipy.fft\nx = np.random.rand(128, 128)\n{transform}")
    assert (result.error, result.stdout) == (None, "True\n")
    assert not confined.run(f"{transform}\nx = None\n1 / 0").ok
    many = f"with scipy.fft.set_workers(-1):\n    y = scipy.fft.fft2(x)\n{transform}, np.allclose(y, np.fft.fft2(x))"
    assert confined.run(many).stdout == "(True, True)\n"
    assert confined.run("1").stdout == "1\n"
    assert confined.run(transform).stdout == "True\n"


def test_transforms_executors_and_opencv_share_a_run(confined: Session) -> None:
    prepare = (
        "import cv2, numpy as np, scipy.fft\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "cv2.setNumThreads(2); x = np.random.rand(128, 128)\n"
    )
    work = (
        "with ThreadPoolExecutor(2) as pool:\n"
        "    made = list(pool.map(lambda n: scipy.fft.fft2(x + n, workers=2)[0, 0].real, range(3)))\n"
        "cv2.GaussianBlur((x * 255).astype('uint8'), (9, 9), 2).shape, np.allclose(np.diff(made), 128 * 128)"
    )
    assert confined.run(prepare).ok
    for _ in range(3):
        assert confined.run(work).stdout == "((128, 128), True)\n"


def test_neighbours_are_found_by_several_threads(session: Session) -> None:
    assert session.run("import numpy as np\nfrom scipy.spatial import cKDTree\ntree = cKDTree(np.eye(40))").ok
    for _ in range(2):
        assert session.run("tree.query(np.eye(40), workers=-1)[0].max()").stdout == "np.float64(0.0)\n"
