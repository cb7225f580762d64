"""Links out of the project are well formed and lead to known hosts; whether they answer is asked by hand."""

from urllib.parse import urlsplit

from external_links import HOSTS, links


def test_external_links_are_whole_addresses_of_known_hosts() -> None:
    found = list(links())
    assert len(found) >= 10
    wrong = []
    for page, url in found:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.hostname not in HOSTS or parts.username or " " in url or not parts.path:
            wrong.append(f"{page}: {url}")
    assert wrong == []


def test_papers_are_named_by_their_number_alone() -> None:
    papers = {url for _, url in links() if urlsplit(url).hostname == "arxiv.org"}
    assert papers
    assert {url for url in papers if not urlsplit(url).path.removeprefix("/abs/").replace(".", "").isdigit()} == set()
