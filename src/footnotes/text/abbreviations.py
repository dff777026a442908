# ruff: noqa: SIM905 (lists of words read better as prose)
"""Words before a full stop that do not end a sentence: English, German, Spanish and French.

All are written without their last stop and in lower case. Words of one letter and words with inner stops
(`U.S`, `z.B`) are recognised by their shape and need no entry.
"""

from __future__ import annotations

NEVER_FINAL = frozenset(
    """
    mr mrs ms mx dr prof rev gen col maj capt lt sgt cmdr adm gov sen pres amb st mt ft
    messrs mmes mme mlle mgr sr sra srta srs dra lic arq fray hr fr hrn dipl priv doz
    vs cf viz al ca approx resp esp incl excl fig figs eq eqs sect ch chap eds
    vol vols nos pp bzw bspw vgl evtl ggf sog inkl exkl zzgl abzgl bzgl kap
    abb abs aufl bd bde hrsg hg nr nrn tel ggü einschl mind insb insbes u.a d.h z.b e.g i.e
    p.ej núm págs pág cap ap avda c/ ej aprox av boul éd num réf cie
    """.split()
)
"""Something always follows these: a name, a number, an example."""

OFTEN_FINAL = frozenset(
    """
    art arts par para app tab ref refs ed min max gem rep hon sec str env hab ing mag mm
    etc inc ltd co corp llc plc bros dept univ assn jr esq phd md ba ma bsc msc mba est
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    ave blvd rd sq hwy usw usf gmbh ag eur usd mio mrd std tsd ust jh jhd okt dez mrz
    ud uds vd vds ee.uu cía s.a janv févr avr juil déc
    oz lb lbs in cm km kg hrs mins secs
    """.split()
)
"""These may close a sentence; they do when a word that opens sentences follows."""

BEFORE_NUMBER = frozenset("no p s n §".split())
"""These are abbreviations only when a number follows."""

MONTHS = frozenset(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    jahrhundert jahrhunderts auflage stock platz
    """.split()
)
"""After a number with a stop these make it an ordinal: `3. Oktober`, `19. Jahrhundert`."""

OPENERS = frozenset(
    """
    the this that these those it its he she they we you his her their our my there here then when while where
    what who why how if in on at as for from after before although because since however but and so thus
    to a an no yes not all some many most each every both one two by with during under
    der die das dies diese dieser dieses es er sie wir ihr ich ein eine im in am auf bei mit nach für seit wenn
    als aber und doch auch so dann da dort hier man nur wie was wer warum wo zum zur
    el la los las un una unos unas lo este esta estos estas ese esa eso esto se su sus en con por para al del
    cuando como si no pero y aunque según desde entre hay
    le les un une des ce cet cette ces il elle ils elles nous vous je on dans en au aux pour par avec sur sous
    mais et quand comme si après avant depuis selon
    """.split()
)
"""Words that commonly open a sentence, and seldom are names."""
