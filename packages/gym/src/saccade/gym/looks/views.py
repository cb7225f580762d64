"""Pictures of states with several views: each drawn by itself."""

from collections.abc import Callable

from PIL import Image

from saccade.gym.painter import Painter
from saccade.gym.rendering import Rendering, SeenRegion
from saccade.gym.state import Element, SceneState


def each_view(
    state: SceneState, kind: str, new_painter: Callable[[], Painter], paint: Callable[[Painter, Element], None]
) -> Rendering:
    """A picture for every view with the elements of a kind that it shows, painted in the state's order."""
    images: list[Image.Image] = []
    regions: list[SeenRegion] = []
    for view in range(state.views):
        painter = new_painter()
        for element in state.of_kind(kind):
            if element.view == view:
                paint(painter, element)
        images.append(painter.image)
        regions.extend(painter.regions(view))
    return Rendering(images=tuple(images), regions=tuple(regions))
