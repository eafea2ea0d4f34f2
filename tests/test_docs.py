"""The site: every example runs as printed, every public name is in the reference, links lead on."""

import inspect
import pkgutil
import re
import runpy
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

import evermix as em
from evermix import adapters

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
# Code of a page, in its order; "<!-- run before" is code that readers need not see.
BLOCK = re.compile(r"^(?:```python\n|<!-- run before\n)(.*?)(?:```|-->)$", flags=re.S | re.M)
NEEDS_GPU = DOCS / "gpu.md"
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "pictures")


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p != NEEDS_GPU and BLOCK.search(p.read_text("utf-8"))], ids=name
)
def test_the_examples_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, names = page.read_text(encoding="utf-8"), {"__name__": "__main__"}
    for package in ("river", "dask", "arviz", "matplotlib"):
        if package in text:
            pytest.importorskip(package)
    if "from evermix.adapters.bertopic" in text:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what BERTopic imports
            pytest.importorskip("bertopic")
    for code in BLOCK.findall(text):
        exec(compile(code, name(page), "exec"), names)


def test_examples_for_a_gpu_can_be_read():
    for code in BLOCK.findall(NEEDS_GPU.read_text(encoding="utf-8")):
        compile(code, "gpu.md", "exec")


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_gallery_makes_its_picture(script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("EVERMIX_PICTURES", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.delitem(sys.modules, "pictures", raising=False)
    runpy.run_path(str(script))
    assert [path.name for path in tmp_path.iterdir()] == [f"{script.stem}.png"]
    picture = DOCS / "images" / f"{script.stem}.png"
    assert picture.stat().st_size < 150_000
    assert f"images/{picture.name}" in (DOCS / "gallery.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name():
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    listed = re.findall(r"^::: (\S+)$", reference, flags=re.M)
    assert len(listed) == len(set(listed))
    public = {f"evermix.{name}" for name in em.__all__}
    for module in pkgutil.iter_modules(adapters.__path__):
        path = f"{adapters.__name__}.{module.name}"
        if find_spec(module.name) is None:  # the library that it adapts is called like it
            listed = [entry for entry in listed if not entry.startswith(f"{path}.")]
            continue
        members = inspect.getmembers(__import__(path, fromlist=["*"]), inspect.isclass)
        own = [name for name, kind in members if kind.__module__ == path]
        public |= {f"{path}.{name}" for name in own if not name.startswith("_")}
    assert public == set(listed)
    table = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    for entry in public:
        assert f"`{entry}`" in table or f"`em.{entry.removeprefix('evermix.')}`" in table, entry


LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {re.sub(r"[\s]+", "-", title.strip()) for title in plain}


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=name)
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in path:
            continue
        target = page if not path else (page.parent / path)
        assert target.exists(), f"{name(page)} links to {path}"
        if anchor:
            assert anchor in anchors(target), f"{name(page)} links to {path}#{anchor}"
