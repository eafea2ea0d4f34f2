"""How the files of the live page are served: to everybody, and with a policy."""


def test_files_have_a_policy_and_are_asked_for_once(service):
    status, text = service.get("/")
    assert status == 200 and "<title>evermix live</title>" in text
    policy = service.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert service.headers["x-content-type-options"] == "nosniff"
    assert service.get("/", headers={"If-None-Match": service.headers["etag"]})[0] == 304
    for name, kind in {"live.js": "text/javascript", "style.css": "text/css"}.items():
        assert service.get(f"/page/{name}")[0] == 200
        assert service.headers["content-type"].startswith(kind)


def test_nothing_else_is_served(service):
    for name in ("uPlot.LICENSE", "..%2fapp.py", "../app.py", "%2e%2e/core.py", "", "none.js"):
        assert service.get(f"/page/{name}")[0] == 404
    assert service.post("/", {})[0] == 405


def test_the_page_needs_no_token_and_everything_else_does(start):
    service = start("--token", "a token of more than sixteen letters")
    status, text = service.get("/", headers={})
    assert status == 200 and 'data-token="yes"' in text
    assert service.get("/page/live.js", headers={})[0] == 200
    for path in ("/models", "/page", "//", "/page/../models", "/%2fpage/"):
        assert service.get(path, headers={})[0] in (401, 404)
        assert service.get(path, headers={})[0] == 401 or "/page/" in path
