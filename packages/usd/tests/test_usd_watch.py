"""Noticing prims that leave a stage."""

from pxr import Usd, UsdGeom

from tensorphys_usd import StageWatch


def test_removed_and_deactivated_prims_are_told_and_nothing_else() -> None:
    stage = Usd.Stage.CreateInMemory()
    for path in ("/World/a/below", "/World/b", "/World/c"):
        UsdGeom.Xform.Define(stage, path)
    told: list[str] = []
    watch = StageWatch(stage, told.extend)
    UsdGeom.Xform.Define(stage, "/World/new").AddTranslateOp().Set((1, 2, 3))
    stage.GetPrimAtPath("/World/b").SetMetadata("comment", "seen")
    assert told == []
    stage.GetPrimAtPath("/World/b").SetActive(False)
    assert told == ["/World/b"]
    stage.RemovePrim("/World/a")
    assert told == ["/World/b", "/World/a"]
    watch.close()
    watch.close()
    stage.RemovePrim("/World/c")
    assert told == ["/World/b", "/World/a"]


def test_a_watch_ends_with_its_owner() -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Xform.Define(stage, "/World/a")
    told: list[str] = []
    watch = StageWatch(stage, told.extend)
    del watch
    stage.RemovePrim("/World/a")
    assert told == []
