"""Function words that are not indexed, by language.

The English list leaves out pronouns and particles (her, up, out, all): they are function words too, but
titles consist of them, and short queries are often titles.
"""

__all__ = ["STOP_WORDS"]

STOP_WORDS = {
    "english": """
a am an and any are as at be because been being but by can could d did do does doing don for from
had has have having how if in into is it its ll m no nor not of on or re s should so such t than
that the their then there these they this those to ve was were what when where which while who whom
why will with would""",
    "german": """
aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des
die dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es euer für hab
habe haben hat hatte hier ich ihr ihre im in ist ja kann kein keine man mein mich mir mit nach nicht
noch nun nur ob oder ohne sein seine sich sie sind so um und uns unser unter vom von vor war waren was
weil wenn wer wie wir wird wo zu zum zur über""",
    "french": """
à au aux avec c ce ces cette d dans de des du elle elles en est et eux il ils j je l la le les leur
leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas pour qu que qui s sa se ses
son sont sur t ta te tes toi ton tu un une vos votre vous y été être""",
    "spanish": """
a al algo como con de del desde donde el ella ellas ellos en entre era es esa ese eso esta este esto
fue ha han hasta hay la las le les lo los me mi mis muy más ni no nos o os para pero por porque que
quien se ser si sin sobre son su sus también te tu un una uno unos y ya yo él""",
    "italian": """
a ad al alla alle anche c che chi ci come con cui d da dal dalla degli dei del della delle di dove e
ed era gli ha hanno i il in io l la le lei li lo loro lui ma mi mio ne nel nella noi non nostro o per
perché più quale quando quella quello questa questo se si sono su sua suo sul sulla tra tu tuo un una
uno vi voi è""",
    "portuguese": """
a ao aos as até com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta
este eu foi há isso isto já lhe mais mas me mesmo meu minha muito na nas nem no nos não nós o os ou
para pela pelo por quando que quem se sem ser seu sua são só também te tem um uma você à é""",
    "dutch": """
aan al als bij dan dat de der deze die dit doch door dus een en er ge haar had heb hebben heeft hem
het hier hij hoe ik in is ja je kan me meer met mij mijn na naar niet nog nu of om omdat ons ook op
over te tegen toch toen tot u uit van veel voor want waren was wat we wel werd wie wij wordt zal ze
zich zij zijn zo zonder zou""",
}
