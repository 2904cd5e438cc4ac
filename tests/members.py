"""The members of families that shared tests walk."""

import rankloop.losses

Loss = rankloop.losses.Loss
EXPORTED = [getattr(rankloop.losses, name) for name in rankloop.losses.__all__]
LOSSES = [one for one in EXPORTED if isinstance(one, type) and issubclass(one, Loss) and one is not Loss]
