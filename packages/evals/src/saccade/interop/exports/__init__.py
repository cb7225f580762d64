"""Questions of a family for other trainers and gyms: files that they read, with the verifier beside them.

``questions`` draws them and says what they are, ``verifier`` holds a reply against the ground truth that each row
carries, and ``bundle`` writes that verifier as a package that needs numpy alone. Each other module writes one form.
"""
