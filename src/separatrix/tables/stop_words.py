"""Words that say little about a document's subject: articles, pronouns, prepositions, auxiliary verbs (row T1).

Short lists in the manner of Snowball's, as a word is found (letters only: "don't" is read as "don").
"""

from __future__ import annotations

LANGUAGES = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "dutch": "nl",
    "portuguese": "pt",
}

_LISTS = {
    "en": """
        a about above after again against all am an and any are aren as at be because been before being below
        between both but by can cannot could couldn did didn do does doesn doing don down during each few for
        from further had hadn has hasn have haven having he her here hers herself him himself his how i if in
        into is isn it its itself ll me more most must mustn my myself no nor not of off on once only or other
        ought our ours ourselves out over own re same shan she should shouldn so some such than that the their
        theirs them themselves then there these they this those through to too under until up ve very was wasn
        we were weren what when where which while who whom why will with won would wouldn you your yours
        yourself yourselves
    """,
    "de": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf
        aus bei bin bis bist da damit dann das dass daß dein deine deinem deinen deiner dem den denn der derer
        des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen
        einer eines einig einige einigem einigen einiger er es etwas euch euer eure eurem euren eurer für
        gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
        ihrer im in indem ins ist ja jede jedem jeden jeder jedes jene jenem jenen jener jetzt kann kein keine
        keinem keinen keiner können könnte machen man manche manchem manchen mancher mein meine meinem meinen
        meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem
        seinen seiner selbst sich sie sind so solche solchem solchen solcher soll sollte sondern sonst um und
        uns unser unsere unserem unseren unter viel vom von vor war waren warst was weg weil weiter welche
        welchem welchen welcher wenn werde werden wie wieder will wir wird wirst wo wollen wollte während
        würde würden zu zum zur zwar zwischen über
    """,
    "fr": """
        ai aie aient ait alors as au aucun aura aurait aussi autre aux avaient avait avec avez avoir avons
        ayant bien car ce ceci cela celle celles celui ces cet cette ceux chaque comme dans de des donc dont
        du elle elles en encore entre es est et eu eux faire fait fois font fut il ils je jusqu la le les leur
        leurs lors lui ma mais me mes moi moins mon même mêmes ne ni nos notre nous on ont ou où par parce pas
        peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui sa sans se sera serait ses si
        soi soit sommes son sont sous suis sur ta te tes toi ton tous tout toute toutes très tu un une vos
        votre vous à étaient était étant été êtes être
    """,
    "es": """
        a al algo algunas algunos ante antes aquel aquella aquello así aunque aún cada como con contra cual
        cuales cuando de del desde donde durante e el ella ellas ellos en entre era eran eres es esa esas ese
        eso esos esta estaba estado estar estas este esto estos estoy está están fue fueron ha había han has
        hasta hay he la las le les lo los me mi mis mucho muchos muy más mí nada ni no nos nosotros nuestra
        nuestro o os otra otras otro otros para pero poco por porque pues que quien quienes qué se sea ser si
        sido sin sobre sois somos son soy su sus suya suyo sí también tanto te tener tengo tiene tienen todo
        todos tu tus tuya tuyo tú un una uno unos y ya yo él
    """,
    "it": """
        a ad agli ai al alla alle allo anche avere aveva avevano c che chi ci cinque coi col come con contro
        cui da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dove e ed era erano
        essere fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio ne
        negli nei nel nell nella nelle nello noi non nostra nostro o per perché più quale quanta quanto quella
        quelle quelli quello questa queste questi questo sarà se sei si sia siamo siete sono sta stata stato
        su sua sue sugli sui sul sull sulla sulle suo suoi tra tu tua tue tuo tutti tutto un una uno vi voi
        vostra vostro è
    """,
    "nl": """
        aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en
        er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan
        kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op
        over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil worden
        wordt zal ze zelf zich zij zijn zo zonder zou
    """,
    "pt": """
        a ao aos aquela aquelas aquele aqueles aquilo as até com como da das de dela delas dele deles depois
        do dos e ela elas ele eles em entre era eram essa essas esse esses esta estamos estas estava este
        esteja estes estou está estão eu foi fomos for foram há isso isto já lhe lhes mais mas me mesmo meu
        meus minha minhas muito na nas nem no nos nossa nossas nosso nossos num numa não nós o os ou para pela
        pelas pelo pelos por qual quando que quem se seja sem ser será seu seus somos sou sua suas são só
        também te tem tenho ter teu teus tinha tu tua tuas têm um uma você vocês vos à às é
    """,
}
STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}
