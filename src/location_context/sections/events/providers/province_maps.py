"""Maps of provinces: Czech districts, the provinces of Andalusia, South Tyrol and Trentino.

Cells of 0.05 by 0.075 degrees (about 5.5 km), the north above: a sign where nine tenths of a cell
lie nearest to municipalities of one province, a dot where provinces meet or nobody lives. Put to
2,541 towns of GeoNames and the municipality nearest to each, the maps tell the province of 85 in
100, and a neighbour's of five. Points of other regions are told apart elsewhere: maps reach beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_HIGH, _WIDE = 0.05, 0.075  # degrees of a cell


@dataclass(frozen=True)
class ProvinceMap:
    """The cells from `north` and `west` on, and the ISO 3166-2 code that each sign means."""

    north: float
    west: float
    codes: Mapping[str, str]
    rows: tuple[str, ...]

    def at(self, lat: float, lng: float) -> str | None:
        """The code of the cell, where it has one."""
        row, column = (self.north - lat) / _HIGH, (lng - self.west) / _WIDE
        if not (0 <= row < len(self.rows) and 0 <= column < len(self.rows[int(row)])):
            return None
        return self.codes.get(self.rows[int(row)][int(column)])


def _map(corner: tuple[float, float], country: str, signs: str, cells: str) -> ProvinceMap:
    """`signs`: the code of each province, without its country, and its sign."""
    pairs = (one.split("=", 1) for one in signs.split())
    codes = {sign: f"{country}-{code}" for code, sign in pairs}
    return ProvinceMap(*corner, codes, tuple(cells.splitlines()[1:]))


CZECHIA = _map(
    (51.05, 12.15),
    "CZ",
    "201=a 202=b 203=c 204=d 205=e 206=f 207=g 208=h 209=i 20A=j 20B=k 20C=l 311=m 312=n "
    "313=o 314=p 315=q 316=r 317=s 321=t 322=u 323=v 324=w 325=x 326=y 327=z 411=A 412=B "
    "413=C 421=D 422=E 423=F 424=G 425=H 426=I 427=J 511=K 512=L 513=M 514=N 521=O 522=P "
    "523=Q 524=R 525=S 531=T 532=U 533=V 534=W 631=X 632=Y 633=Z 634=0 635=1 641=2 642=3 "
    "643=4 644=5 645=6 646=7 647=8 711=9 712=! 713=# 714=$ 715=% 721=& 722=* 723=+ 724=- "
    "801=/ 802=: 803=; 804=< 805== 806=>",
    """
...........................DDDDDDD...MMMMMM
...........................DDDDDDD..MMMMMMM
..........................DDDDDDDD.MMMMMMMM
.......................JJ.DDDDDDD..MMMMMMMM
......................JJJJ.DDD...KKMMMM....NN...SS
.................HH.II.JJ.DDDD.KKK.MMMM.LLL.N.SSSSS
.................HH.III.J..DD..KKKK..MM.LLL.N.SSSSSS
...............HHHH.III.JJJ.D.KKKKKK.MM.LL.NN.SSSSSS.QQQQQ
..............E.HHHH.II.JJJ...KKKKK...M...NNN.SSSSS.QQQQQQQ
...........EEEEE..HH.III..FFF.KKKKK.gg..NNNNN.SSSSSS.QQQQQQ
..........EEEEEEEE.HH.I.FFFFFF..KK.gggg....N...SSSSSSQQQQQ....999
......BBBB.EEEEEEE.HH...FFFFFF.f..ggggg.PPP.PP.SSS...QQQQQ....99999
...CCC.BBB.EEEEEEE....G..FFFF.fff.ggggggPPPPPPP.SS.QQQQ.......9999999
AA.CCC.BBBB.EEEEE..GGGGG.FFFF.ffff.gggg.PPPPPPP.S.QQQQQRR.....99999999..////
AAA.CC.BBBBB.EEEE.GGGGGG.c...ffff.gggg...PPP........Q.RRRRR....99999999/////
AAAA.CC.BBBBB.EE..GGGG..cccc.f.ff.....hhh...OOOOOOO.RRRRRRRR....999999./////
AAAA.CCC.BBBB...GG....l.ccc...i..i..hhhhhhhOOOOOOOOORRRRRRRR...%.999..//////
AAAA.CCC.BBBBBB.G.llllllcccc..iiiii.hhhhhh.OOOOO....RRRRRRR.WW.%..99.///////
AAAA.CCCC.BBBBB.G.lllll.ccc......ii...hh..d.....UUU.RRRR...WWW.%%%.9.///////.===
AAAAAA...BBBBBB..llllll.cc.j..........d.ddd.UUUUUUUU..R.WWWWWW%%%%%.////////.====
AAAAAAAAA.B....xx..lllll....j....i..dddddd..UUUUUUUU.WWWWWWWW.%%%%%./////...======
..AAAAAAAA.xxxxxxxx.....bbb.j..jiiiii.dd..ee.U......WWWWWWWWW.%%%%.//////.========.;;;
............xxxxxx..y..bbbb.jjj.iiiiid..eeeee.TTTTTT.W...WWWW.%%%%.//////.========.;;;;
....zzzzzzz.xxxxxx.yyy.bbbb.jj...a.....eeeee.TTTTTTT..VV.WWWW.%%%%.//////======.=..;;;;
...zzzzzzzzz.xxxxx.yyy.b.b.....aaaaaa.eeeee.X...TTTTT.VVV.....%%%.!..../.====..>>>..;;;;
...zzzzzzzzz.xx....yyyb.k.kkk..aaaaaa..ee..XXXX..TTT..VVVVVVV.%%%!!!!!!!.===.<....>.;;;;
...zzzzzzzzz.xx.vv.yyy..kkkkkk.aaaaaaaa..XXXXXXX..T..VVVVVVVVV...!!!!!!!...<<<<<.:.:....::
....zzzzzzzz...wwv.yy.kkkkkkkkk.aaaaaaaa.XXXXXXXX..1...VVVVVVV..!!!!!!!!...<<<<<.:::::::::
....zzz......wwww.....kkkkkkkkk.aaaaa..a...XXXXX.111111.VV....##.!!!!!!!.$$.<<<<.:::::::::
.......tttttt.wwwwwww.kkkkkkkk.k.a....Z.ZZZ.XXXX.1111111...22.###.!!!!...$$$.<<<<.::::::::
.....tttttttt...wwwww.............ss.ZZZZZZ.XX...1111111.2222.#####.!..$$$$$..<<<.::::::::
.....tttttttt.u...www.rr.pppppp.sssss.ZZZZZ.Y..Y.111111...2222######.$$$$.$.++++...:::::::
......tttttt..uuuu....rr.ppppp..ssss.ZZZZZZ.YYYYY.1111..4.2222..####..$$$...+++++++:::
......ttttttt.uuuuuuu.rr.ppppp.sssss.ZZZZZZ.YYYY.11111.444.222.7..##$&..&&&.+++++++.::
........tttt..uuuuuuu.rr.pppp..sssss.ZZZZZ.YYYY.0...11.444..22.77....&&&&....+++++++
..........t.uuuuuuuu.rrrr.ppp..sssss....Z..YYYY.0000...4444....777..&&&..---.++++++
...........uuuuuuuuu.rrrr..p.mm..s...ooo..YYYY..000000.44..3.4.777.&&&&.-----.+++
............uuuuuuuu.rrrrrr..mmm..s.oooooo.YYY.0000000.444.3.4.777..&..-------.++
.............uuuuuu.q.....r..mmmm...oooooo.....0000000.444444.7777..***...-----
.............uuuuuu.qqqqqq...mmmm.ooooooooooo.0000000....4444.7..6..*****....----
...............uuu.qqqqqqqqq.mmmm.ooooooooooo.000.8..8888.44....6666..******.---
................uu.qqqqqqqq..mmmmm.ooooooooo.....8888888844.555.66666...******
...................qqqqqqqqn.mmmmm.oooo.ooooo.8888888888.44.555.66666666.*.***
...................qqqqqqq.nnn.mmmm.ooo......888888888888..5555.666666666.****
....................qqqqq.nnnnn..mmm.oo......888888888888.555555.666666666*
.....................qqq.nnnnnnn.mmm.oo..........88888888.5555555.6666666
......................qq.nnnnnnnnnmmooo...........88888888.5555555
.........................nnnnnnnnn...................88888..555555
.........................nnnnnnnnnn
""",
)
ANDALUSIA = _map(
    (38.6, -7.5),
    "ES",
    "AL=a CA=b CO=c GR=d H=e J=f MA=g SE=h",
    """
.............................cccccccccc........................ffff
...........................cccccccccccccc.............ff......fffff
..........................cccccccccccccccc.........ffffff.ff.ffffff
........................cccccccccccccccccccc....ffffffffffffffffffff
........................cccccccccccccccccccc....ffffffffffffffffffff
........................cccccccccccccccccccc....fffffffffffffffffffff
........................cccccccccccccccccccc.ffffffffffffffffffffffff
.......eee..............cccccccccccccccccccc.ffffffffffffff..ffffffff
......eeeeeee........hhh.ccccccccccccc...ccc.ffffffffffffffffffffffff
......eeeeeeeeee....hhhhh.ccccccccccccccccc.fffffffffffffffffffffffff
..eee.eeeeeeeeeee.h.hhhhhh.ccccccccccccccc.ffffffffffffffffffffffffff
..eeeeeeeeeeeeeeehhhhhhhhhh.ccccccccccccccc.ffffffffffffffffffffffff
..eeeeeeeeeeeeeeehhhhhhhhhhhccccccccccccccc.fffffffffffffffffffffff..aaaa
..eeeeeeeeeeeeeee.hhhhhhhhhh.ccccccccccccccfffffffffffffffffff....d.aaaaaa
..eeeeeeeeeeeeeeeehhhhhhhhhh.cccccccccccccc...fffffffffffffff.ddddddaaaaaa
eeeeeeeeeeeeeeeee.hhhhhhhhhhhcccccccccccccc.f.fffffffffffffff.ddddd.aaaaaa
eeeeeeeeeeeeee..hhhhhhhhhhhhh.ccccccccccccccfffffffffffffffff.dddddd.aaaaa
eeeeeeeeeeeee.hhhhhhhhhhhhhhh.ccccccccccccc.fffffffffffffffff.dddddd.aaaaaa
eeeeeeeeeeee..hhhhhhhhhhhhhhhcccccccccccccccfffffffffffff..ff.dddddd.aaaaaa
eeeeeeeeeeee..hhhhhhhhhhhhhhh.h.c.ccccccccc.fffffffff....dd..ddddddd.aaaaaaa
eeeeeeeeeeeeeehhhhhhhhhhhhhhhhhh.hcccccccccc.fffffff.ddddddddddd..dd.aaaaaaaa
eeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhh.ccccccccccc.ffff...ddddddddddd.dd.aaaaaaaaaa
eeeeeeeeeeeeeee.hhhhhhhhhhhhhhhhh.ccccccccccc.fff.ddddddddddddddd.a.aaaaaaaaaa
eeeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhhh.cccccccccc.ff.dddddddddddddd.aaaaaaaaaaaaa
eeeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhhh.cccccccc.....dddddddddddddd.aaaaaaaaaaaaaa
eeeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhhh...ccccccdddddddddddddddddd.aaaaaaaaaaaaaaa
eeeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhhhhh.cc..c.dddddddddddddddd.aaaaaaaaaaaaaaaaa
eeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhhhhhh...g.c.ddddd.dddddddddd.aaaaaaaaaaaaaaaaa
eeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhhh...gg.gg..ddddddddddddddddd.aaaaaaaaaaaaaaaa
eeeeeeeeeeeeeee.hhhhhhhhhhhhhhhhhh.ggggggg...dddddddddddddddd.aaaaaaaaaaaaaaaa
eeee..eeeeeeeee.hhhhhhhhhhhhhhhhhh.ggggggg...dddddddddddddd.aaaaaaaaaaaaaaaaa
........eeeeeee..hhhhhhhhhhhhhhh.ggggggggggg.dddddddddddddd.aaaaaaaaaaaaaaaaa
..........eeee.bb.hhhh..hh.h..hh.gggggggggggd..ddddddddddddd.aaaaaaaaaaaaaaaa
...........eee.bbbhhh.bb.bb.bb.bggggggggggggggg.ddddddddddd.aaaaaaaaaaaaaaaaa
..............bbbb.hhbbbbbbbbbb.ggggggggggggggg..dddddddddd.aaaaaaaaaaaaaaaaa
.............bbbbbb.hbbbbbbb...gggggggggggggggggg.dddddddd..aaaaaaaaaaaaaaaa
............bbbbbbbb.bbbbbbbb.ggggggggggggggggggg.dddddddd.aaaaaaaaaaaaaaaa
............bbbbbbbbbbbbbbbbb.ggggggggggggggggggg.dddddddd.aaaaaaaaaaaaaaa
............bbbbbbbbbbbbbbbb.ggggggggggggggggggggddddddddd.aaaaaaaa..aaaaa
.............bbbbbbbbbbbbbb.gggggggggggggggggggg.ddddddddd.aaaaaaa...aaa
.............bbbbbbbbbbbbbb.gggggggggggggg............d.......a
..............bbbbbbbbbbb.bb.ggggggggggggg
..............bbbbbbbbbb.bbb.ggggggggggg
...............bbbbbbbbb.bbb.gggggggg.g
...............bbbbbbbbbbbbbb.gggg
...............bbbbbbbbbbbbbb..gg
................bbbbbbbbbbbbbbb
................bbbbbbbbbbbbbbbb
.................bbbbbbbbbbbbbb
..................bbbbbbbbbbbbb
...................bbbbbbbbbbb
.....................bbbbbbbb
""",
)
TRENTINO_SOUTH_TYROL = _map(
    (47.05, 10.425),
    "IT",
    "BZ=a TN=b",
    """
............aaaaa.aaaaaaa
..........aaaaaaaaaaaaaaa
aaa.....aaaaaaaaaaaaaaaa
aaaa...aaaaaaaaaaaaaaaaaa
aaaa.aaaaaaaaaaaaaaaaaaaaa
aaaaaaaaaaaaaaaaaaaaaaaaaa
aaaaaaaaaaaaaaaaaaaaaaaaaa
aaaaaaaaaaaaaaaaaaaaaaaaaa
aaaaaaaaaaaaaaaaaaaaaaaaaa
aaaaaaaaaaaaaaaaaaaaaa
aaaaaaaaaaaaaaaa...aaa
.aaaa...a..aaaa.bbb.a
.....bbb.b.aaaa.bbbb
.bbbbbbbbb.aaa..bbbb
.bbbbbbbbbaaa.bbbbb
.bbbbbbbb....bbbbbbbbb
.bbbbbbbbb..bbbbbbbbbbb
..bbbbbbbbbbbbbbbbbbbbb
..bbbbbbbbbbbbbbbbbbbb
..bbbbbbbbbbbbbbbbbbb
.bbbbbbbbbbbbbbbbbb
bbbbbbbbbbbbbbbbbbb
bbbbbbbbbbbbbbbbbb
bbbbbbbbbbbbbb
bbbbbbbbbbbbbb
bbbbbbbbbbbb
bbbbbbbbbbbb
""",
)
