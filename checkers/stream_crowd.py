"""Those in a job who hear of the same events, in groups of such as nothing tells apart.

An event of the whole job is shown to all its steps, gates and values. Most of a long plan make the same of it: they have not
begun, or are done. They move as one, and whoever gets an event of its own leaves its group first: so that an event of the whole
job costs as much as there are different ones among them, however many nodes the plan has.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

FEW: Final = 8
"""So many go on by themselves: for them a group costs more than it saves."""
M = TypeVar("M", bound="Member")


class Member(Protocol):
    """One of them. group: who moves with it; what it knows itself is out of date there, unless it leads them."""

    group: "Group[Any] | None"

    def alike(self) -> Hashable:
        """Equal for those who make the same of all that names none of them."""
        ...

    def adopt(self, other: Any) -> None:
        """Go on from where another one is that was alike."""
        ...


class Group(Generic[M]):
    """Who moves as one. leader: the one who moves."""

    __slots__ = ("leader", "members")

    def __init__(self, leader: M) -> None:
        self.leader, self.members = leader, {leader: None}
        leader.group = self

    def drop(self, member: M) -> None:
        """One goes on by itself."""
        del self.members[member]
        if member is not self.leader:
            member.adopt(self.leader)
        elif self.members:
            self.leader, _ = self.members.popitem()  # the last: to look for the first costs as much as have left
            self.members[self.leader] = None
            self.leader.adopt(member)
        member.group = None

    def merged(self, other: "Group[M]") -> "Group[M]":
        """Both in one: the smaller comes to the larger, so that few are moved."""
        small, large = sorted((self, other), key=lambda group: len(group.members))
        for member in small.members:
            member.group = large
        large.members |= small.members
        return large


class Crowd(Generic[M]):
    """All of them. alone: those who are in no group."""

    __slots__ = ("alone", "groups")

    def __init__(self, members: Iterable[M]) -> None:
        self.alone: dict[M, None] = dict.fromkeys(members)
        self.groups: list[Group[M]] = []

    def leaders(self) -> list[M]:
        """Who has to be shown what all hear of."""
        return [*self.alone, *(group.leader for group in self.groups)] if self.groups else list(self.alone)

    def apart(self, member: M) -> None:
        """Before one is shown an event that names it: it goes on by itself."""
        group = member.group
        if group is not None:
            group.drop(member)
            self.alone[member] = None
            if not group.members:
                self.groups.remove(group)

    def gather(self) -> None:
        """After an event that all have heard of: who is alike now is in one group."""
        if len(self.alone) > FEW:
            self.groups += map(Group, self.alone)
            self.alone = {}
        if len(self.groups) > 1:
            alike: dict[Hashable, Group[M]] = {}
            for group in self.groups:
                key = group.leader.alike()
                alike[key] = group.merged(alike[key]) if key in alike else group
            self.groups = list(alike.values())

    def scatter(self) -> None:
        """Before what each has to take by itself: there are no groups any more."""
        if self.groups:
            for member in [member for group in self.groups for member in group.members]:
                self.apart(member)


NOBODY: Final[Crowd[Any]] = Crowd(())
"""Before the plan is there, and once the job has ended."""


def leader_of(member: M) -> M:
    """Who moves for one."""
    return member if member.group is None else member.group.leader


def led_by(leader: M) -> Iterable[M]:
    """All who move with one who moves."""
    return (leader,) if leader.group is None else leader.group.members


def named(members: Mapping[Any, M], *names: Any) -> list[M]:
    """Those that go by one of some names. A list or an object is nobody's."""
    return [members[name] for name in names if type(name) not in (list, dict) and name in members]
