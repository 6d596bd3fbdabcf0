# expect: Each place guesses its own word
import torch.nn.functional as F
def next_word_loss(scores, ids, real):
    return F.cross_entropy(scores[real], ids[real])
