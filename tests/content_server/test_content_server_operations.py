"""Every service of the CMIS browser binding, with SQLite and with PostgreSQL."""

from __future__ import annotations

import io

import pytest
from content_nodes import Client, Node, fault
from PIL import Image

pytestmark = pytest.mark.waits


def test_service_document_names_the_urls_that_work(ann: Client, node: Node) -> None:
    (info,) = ann.get("/browser").json().values()
    assert info["repositoryId"] == "content"
    assert info["repositoryUrl"] == f"{node.url}/browser/content"
    assert ann.get(info["repositoryUrl"], params={"cmisselector": "repositoryInfo"}).json()["content"] == info
    root = ann.get(info["rootFolderUrl"], params={"cmisselector": "object", "succinct": "true"}).json()
    assert root["succinctProperties"]["cmis:objectId"] == info["rootFolderId"]
    assert root["succinctProperties"]["cmis:path"] == "/"


def test_types(ann: Client) -> None:
    definition = ann.get("/browser/content", params={"cmisselector": "typeDefinition", "typeId": "tt:search"}).json()
    assert (definition["baseId"], definition["parentId"]) == ("cmis:item", "cmis:item")
    assert definition["propertyDefinitions"]["tt:searchType"]["propertyType"] == "string"
    assert "cmis:contentStreamLength" not in definition["propertyDefinitions"]
    children = ann.get("/browser/content", params={"cmisselector": "typeChildren"}).json()
    assert [t["id"] for t in children["types"]] == ["cmis:document", "cmis:folder", "cmis:item"]
    below = ann.get("/browser/content", params={"cmisselector": "typeChildren", "typeId": "cmis:item"}).json()
    assert [t["id"] for t in below["types"]] == ["tt:search", "tt:workflow"]


def test_create_and_get_by_identifier_and_by_path(ann: Client) -> None:
    folder = ann.folder("create and get ü")
    created = ann.create(
        "a b.txt", b"some text", "/create and get ü", department="sales", amount="12.5", pages="3",
        dueDate="2024-02-01T00:00:00Z",
    )  # fmt: skip
    assert created["cmis:objectId"] == created["cmis:versionSeriesId"] + ";1.0"
    assert created["cmis:createdBy"] == "ann"
    assert (created["cmis:contentStreamLength"], created["cmis:contentStreamMimeType"]) == (9, "text/plain")
    assert (created["tt:department"], created["tt:amount"], created["tt:pages"]) == ("sales", 12.5, 3)
    assert created["tt:dueDate"] == 1_706_745_600_000
    for answer in (
        ann.select("object", objectId=created["cmis:objectId"]),
        ann.select("object", objectId=created["cmis:versionSeriesId"]),
        ann.select("object", "/create and get ü/a b.txt"),
    ):
        assert answer.json()["succinctProperties"] == created
    (parent,) = ann.select("parents", objectId=created["cmis:objectId"]).json()
    assert parent["object"]["succinctProperties"]["cmis:objectId"] == folder
    assert parent["relativePathSegment"] == "a b.txt"


def test_full_form_has_the_definition_of_each_value(ann: Client) -> None:
    created = ann.create("full.txt")
    document = ann.select("object", objectId=created["cmis:objectId"], succinct="false").json()
    value = document["properties"]["cmis:creationDate"]
    assert (value["type"], value["cardinality"], value["value"]) == ("datetime", "single", created["cmis:creationDate"])
    properties = ann.select("properties", objectId=created["cmis:objectId"]).json()
    assert properties == created


def test_filter_keeps_what_was_asked_for(ann: Client) -> None:
    created = ann.create("filtered.txt", department="law")
    document = ann.select("object", objectId=created["cmis:objectId"], filter="cmis:name,tt:department").json()
    names = {"cmis:name", "tt:department", "cmis:objectId", "cmis:objectTypeId", "cmis:baseTypeId"}
    assert set(document["succinctProperties"]) == names
    assert fault(ann.select("object", objectId=created["cmis:objectId"], filter="cmis:nosuch")) == (
        400,
        "filterNotValid",
    )


def test_children_in_pages_and_orders(ann: Client) -> None:
    folder = ann.folder("children")
    for name in ("b", "a", "c", "d"):
        ann.create(name, path="/children", department=name * 2)
    page = ann.select("children", objectId=folder, maxItems=3, includePathSegment="true").json()
    assert [o["pathSegment"] for o in page["objects"]] == ["a", "b", "c"]
    assert (page["hasMoreItems"], page["numItems"]) == (True, 4)
    rest = ann.select("children", objectId=folder, maxItems=3, skipCount=3).json()
    assert [o["object"]["succinctProperties"]["cmis:name"] for o in rest["objects"]] == ["d"]
    assert (rest["hasMoreItems"], rest["numItems"]) == (False, 4)
    backwards = ann.select("children", objectId=folder, orderBy="tt:department DESC").json()
    assert [o["object"]["succinctProperties"]["cmis:name"] for o in backwards["objects"]] == ["d", "c", "b", "a"]
    beyond = ann.select("children", objectId=folder, skipCount=9).json()
    assert (beyond["objects"], beyond["numItems"]) == ([], 4)


def test_content_whole_and_in_ranges(ann: Client) -> None:
    data = bytes(range(256)) * 10
    created = ann.create("data.bin", data, mime="application/x-data")
    whole = ann.select("content", objectId=created["cmis:objectId"])
    assert (whole.content, whole.headers["content-type"]) == (data, "application/x-data")
    assert whole.headers["accept-ranges"] == "bytes"
    for header, start, end in (
        ("bytes=0-99", 0, 100),
        ("bytes=2000-", 2000, 2560),
        ("bytes=-60", 2500, 2560),
        ("bytes=2500-9999", 2500, 2560),
        ("bytes=-9999", 0, 2560),
    ):
        part = ann.select("content", objectId=created["cmis:objectId"], headers={"Range": header})
        assert (part.status_code, part.content) == (206, data[start:end])
        assert part.headers["content-range"] == f"bytes {start}-{end - 1}/2560"
    for header in ("bytes=2560-", "bytes=-0"):
        outside = ann.select("content", objectId=created["cmis:objectId"], headers={"Range": header})
        assert fault(outside) == (416, "invalidArgument")
        assert outside.headers["content-range"] == "bytes */2560"
    for header in ("bytes=9-1", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6", "bytes=-", "bytes=" + "9" * 400 + "-"):
        ignored = ann.select("content", objectId=created["cmis:objectId"], headers={"Range": header})
        assert (ignored.status_code, ignored.content) == (200, data)


def test_entity_tags(ann: Client) -> None:
    created = ann.create("tagged.txt", b"one")
    tag = ann.select("content", objectId=created["cmis:versionSeriesId"]).headers["etag"]
    same = ann.select("content", objectId=created["cmis:versionSeriesId"], headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    ann.act("setContent", objectId=created["cmis:versionSeriesId"], content=b"two")
    assert (
        ann.select("content", objectId=created["cmis:versionSeriesId"], headers={"If-None-Match": tag}).content
        == b"two"
    )
    stale = {"If-Range": tag, "Range": "bytes=0-0"}
    assert ann.select("content", objectId=created["cmis:versionSeriesId"], headers=stale).status_code == 200


def test_large_content_streams_whole(ann: Client) -> None:
    data = bytes(range(251)) * 50_000
    created = ann.create("large.bin", data, mime="application/octet-stream")
    assert ann.select("content", objectId=created["cmis:objectId"]).content == data
    part = ann.select("content", objectId=created["cmis:objectId"], headers={"Range": "bytes=1000000-5000000"})
    assert part.content == data[1_000_000:5_000_001]


def test_update_changes_only_what_it_names(ann: Client) -> None:
    created = ann.create("before.txt", department="sales", status="draft")
    changed = ann.act(
        "update",
        objectId=created["cmis:objectId"],
        properties={"cmis:name": "after.txt", "tt:status": "released", "tt:department": "", "cmis:description": "d"},
    ).json()["succinctProperties"]
    assert (changed["cmis:name"], changed["tt:status"], changed["cmis:description"]) == ("after.txt", "released", "d")
    assert "tt:department" not in changed
    assert int(changed["cmis:changeToken"]) > int(created["cmis:changeToken"])
    stale = ann.act(
        "update",
        objectId=created["cmis:objectId"],
        changeToken=created["cmis:changeToken"],
        properties={"tt:status": "x"},
    )
    assert fault(stale) == (409, "updateConflict")


def test_renamed_folder_takes_its_tree_along(ann: Client) -> None:
    folder = ann.folder("old name")
    ann.folder("inner", "/old name")
    ann.create("leaf.txt", path="/old name/inner")
    assert ann.act("update", objectId=folder, properties={"cmis:name": "new name"}).status_code == 200
    assert ann.select("object", "/new name/inner/leaf.txt").status_code == 200
    assert fault(ann.select("object", "/old name/inner/leaf.txt")) == (404, "objectNotFound")
    inner = ann.select("object", "/new name/inner").json()["succinctProperties"]
    assert (inner["cmis:path"], inner["cmis:parentId"]) == ("/new name/inner", folder)
    assert ann.select("parent", "/new name/inner").json()["succinctProperties"]["cmis:objectId"] == folder


def test_set_and_delete_content(ann: Client) -> None:
    created = ann.create("content.txt", b"first")
    id = created["cmis:versionSeriesId"]
    refused = ann.act("setContent", objectId=id, content=b"second", overwriteFlag="false")
    assert fault(refused) == (409, "contentAlreadyExists")
    assert ann.act("setContent", objectId=id, content=b"second").status_code == 201
    assert ann.select("content", objectId=id).content == b"second"
    assert ann.act("deleteContent", objectId=id).json()["succinctProperties"]["cmis:contentStreamLength"] is None
    assert fault(ann.select("content", objectId=id)) == (409, "constraint")
    assert ann.act("setContent", objectId=id, content=b"third", overwriteFlag="false").status_code == 201
    assert fault(ann.act("setContent", objectId=id)) == (400, "invalidArgument")


def test_delete(ann: Client) -> None:
    folder = ann.folder("to delete")
    created = ann.create("x.txt", path="/to delete")
    assert fault(ann.act("delete", objectId=folder)) == (409, "constraint")
    assert ann.act("delete", objectId=created["cmis:objectId"]).status_code == 200
    assert fault(ann.select("object", objectId=created["cmis:objectId"])) == (404, "objectNotFound")
    assert ann.act("delete", objectId=folder).status_code == 200
    root = ann.get("/browser").json()["content"]["rootFolderId"]
    assert fault(ann.act("delete", objectId=root)) == (409, "constraint")


def test_delete_tree_leaves_what_others_hold(ann: Client, bob: Client) -> None:
    tree = ann.folder("tree")
    ann.folder("free", "/tree")
    ann.folder("held", "/tree")
    ann.create("a.txt", path="/tree/free")
    ann.create("b.txt", path="/tree/held")
    held = ann.create("c.txt", path="/tree/held")
    assert bob.act("checkOut", objectId=held["cmis:objectId"]).status_code == 201
    left = ann.act("deleteTree", objectId=tree).json()["ids"]
    assert held["cmis:objectId"] in left
    assert tree in left
    assert fault(ann.select("object", "/tree/free")) == (404, "objectNotFound")
    assert fault(ann.select("object", "/tree/held/b.txt")) == (404, "objectNotFound")
    assert ann.select("object", "/tree/held/c.txt").status_code == 200
    bob.act("cancelCheckOut", objectId=held["cmis:versionSeriesId"] + ";pwc")
    gone = ann.act("deleteTree", objectId=tree)
    assert (gone.status_code, gone.content) == (200, b"")
    assert fault(ann.select("object", "/tree")) == (404, "objectNotFound")


def test_check_out_edit_check_in(ann: Client, bob: Client) -> None:
    created = ann.create("versions.txt", b"version one", department="law")
    id = created["cmis:versionSeriesId"]
    copy = ann.act("checkOut", objectId=id).json()["succinctProperties"]
    assert (copy["cmis:objectId"], copy["cmis:isPrivateWorkingCopy"], copy["tt:department"]) == (
        f"{id};pwc",
        True,
        "law",
    )
    assert ann.select("content", objectId=f"{id};pwc").content == b"version one"
    latest = ann.select("object", objectId=id).json()["succinctProperties"]
    assert (latest["cmis:isVersionSeriesCheckedOut"], latest["cmis:versionSeriesCheckedOutBy"]) == (True, "ann")
    assert fault(bob.act("checkOut", objectId=id)) == (409, "updateConflict")
    assert fault(bob.act("update", objectId=id, properties={"tt:status": "x"})) == (409, "updateConflict")
    assert fault(bob.act("delete", objectId=id)) == (409, "updateConflict")
    assert fault(bob.act("checkIn", objectId=f"{id};pwc", content=b"stolen")) == (403, "permissionDenied")
    assert fault(bob.act("cancelCheckOut", objectId=f"{id};pwc")) == (403, "permissionDenied")
    assert ann.act("setContent", objectId=f"{id};pwc", content=b"draft").status_code == 201
    assert ann.select("content", objectId=id).content == b"version one"
    second = ann.act(
        "checkIn", objectId=f"{id};pwc", content=b"version two", checkinComment="done", properties={"tt:status": "new"}
    )
    assert second.status_code == 201
    values = second.json()["succinctProperties"]
    assert (values["cmis:objectId"], values["cmis:checkinComment"], values["tt:status"]) == (f"{id};2.0", "done", "new")
    assert ann.select("content", objectId=id).content == b"version two"
    assert ann.select("content", objectId=f"{id};1.0").content == b"version one"
    assert fault(ann.select("object", objectId=f"{id};pwc")) == (404, "objectNotFound")
    assert fault(ann.act("update", objectId=f"{id};1.0", properties={"tt:status": "x"})) == (409, "versioning")


def test_versions_minor_and_major(ann: Client) -> None:
    id = ann.create("minor.txt", b"a")["cmis:versionSeriesId"]
    for major in ("false", "true", "false"):
        ann.act("checkOut", objectId=id)
        assert ann.act("checkIn", objectId=f"{id};pwc", major=major).status_code == 201
    labels = [v["succinctProperties"]["cmis:versionLabel"] for v in ann.select("versions", objectId=id).json()]
    assert labels == ["2.1", "2.0", "1.1", "1.0"]
    assert ann.act("delete", objectId=f"{id};2.1", allVersions="false").status_code == 200
    assert ann.select("object", objectId=id).json()["succinctProperties"]["cmis:versionLabel"] == "2.0"
    assert ann.select("content", objectId=id).content == b"a"
    assert ann.act("delete", objectId=id).status_code == 200
    assert fault(ann.select("versions", objectId=f"{id};1.0")) == (404, "objectNotFound")


def test_cancelled_check_out_leaves_no_trace(ann: Client) -> None:
    id = ann.create("cancelled.txt", b"kept")["cmis:versionSeriesId"]
    ann.act("checkOut", objectId=id)
    ann.act("setContent", objectId=f"{id};pwc", content=b"dropped")
    assert ann.act("cancelCheckOut", objectId=f"{id};pwc").status_code == 200
    values = ann.select("object", objectId=id).json()["succinctProperties"]
    assert (values["cmis:isVersionSeriesCheckedOut"], values["cmis:versionLabel"]) == (False, "1.0")
    assert ann.select("content", objectId=id).content == b"kept"
    assert fault(ann.act("cancelCheckOut", objectId=id)) == (400, "invalidArgument")


def test_a_content_runs_no_scripts_as_a_page_of_this_server(ann: Client) -> None:
    id = ann.create("page.html", b"<script>alert(1)</script>", mime="text/html")["cmis:objectId"]
    for given in ({}, {"download": "attachment"}):
        headers = ann.select("content", objectId=id, **given).headers
        assert headers["content-type"].startswith("text/html")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "sandbox"


def test_renditions_of_text_and_image(ann: Client) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 10, 10)).save(picture, "PNG")
    for name, content, mime in (
        ("r.txt", "Grüße\nzweite Zeile".encode(), "text/plain"),
        ("r.png", picture.getvalue(), "image/png"),
        ("empty.txt", b"", "text/plain"),
    ):
        id = ann.create(name, content, mime=mime)["cmis:objectId"]
        (listed,) = ann.select("renditions", objectId=id).json()
        assert (listed["streamId"], listed["mimeType"]) == ("pdf", "application/pdf")
        pdf = ann.select("content", objectId=id, streamId="pdf", download="attachment")
        assert pdf.headers["content-type"] == "application/pdf"
        assert pdf.headers["content-disposition"].startswith("attachment")
        assert pdf.content.startswith(b"%PDF-")
        assert pdf.content.rstrip().endswith(b"%%EOF")
    other = ann.create("r.zip", b"PK", mime="application/zip")["cmis:objectId"]
    assert ann.select("renditions", objectId=other).json() == []
    assert fault(ann.select("content", objectId=other, streamId="pdf")) == (409, "constraint")
    broken = ann.create("broken.png", b"no picture", mime="image/png")["cmis:objectId"]
    assert fault(ann.select("content", objectId=broken, streamId="pdf")) == (409, "constraint")
    assert fault(ann.select("content", objectId=broken, streamId="nosuch")) == (404, "objectNotFound")


def test_allowable_actions_follow_state_and_role(ann: Client, node: Node) -> None:
    id = ann.create("actions.txt")["cmis:versionSeriesId"]
    free = ann.select("allowableActions", objectId=id).json()
    assert free["canCheckOut"]
    assert free["canGetContentStream"]
    assert not free["canGetChildren"]
    ann.act("checkOut", objectId=id)
    held = ann.select("allowableActions", objectId=id).json()
    assert not held["canCheckOut"]
    assert not held["canUpdateProperties"]
    assert ann.select("allowableActions", objectId=f"{id};pwc").json()["canCheckIn"]
    with Client(node.url, "reader") as reader:
        document = reader.select("object", objectId=id, includeAllowableActions="true").json()
        assert not any(v for k, v in document["allowableActions"].items() if not k.startswith("canGet"))


def test_administrator_may_end_the_check_out_of_another(ann: Client, node: Node) -> None:
    id = ann.create("abandoned.txt")["cmis:versionSeriesId"]
    ann.act("checkOut", objectId=id)
    with Client(node.url, "root") as root:
        assert root.act("cancelCheckOut", objectId=f"{id};pwc").status_code == 200
    assert ann.act("checkOut", objectId=id).status_code == 201


def test_without_selector_a_folder_lists_and_a_document_downloads(ann: Client) -> None:
    ann.folder("default")
    ann.create("d.txt", b"default content", "/default")
    assert len(ann.get("/browser/content/root/default").json()["objects"]) == 1
    assert ann.get("/browser/content/root/default/d.txt").content == b"default content"


@pytest.mark.parametrize("role", ["reader"])
def test_reader_reads_and_may_not_write(ann: Client, node: Node, role: str) -> None:
    id = ann.create(f"for-{role}.txt", b"read me")["cmis:objectId"]
    with Client(node.url, role) as reader:
        assert reader.select("content", objectId=id).content == b"read me"
        for action in ("update", "delete", "checkOut", "createDocument", "createFolder", "deleteTree", "setContent"):
            assert fault(reader.act(action, objectId=id, content=b"x")) == (403, "permissionDenied"), action
