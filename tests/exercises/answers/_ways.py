"""Ways of running an answer that the files beside this one share."""

import threading


def in_a_thread(answer):
    """Another thread does the work."""

    def elsewhere(*arguments):
        found = []
        thread = threading.Thread(target=lambda: found.append(answer(*arguments)))
        thread.start()
        thread.join()
        return found[0]

    return elsewhere
