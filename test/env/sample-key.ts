/** A public key no one has the other half of, and what Nova shows as its fingerprint. */
export const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIAqfmbFDvYJn3fTgHZdVt7o3cLz9TIZ2Qe7JHFnKzqk demo'
export const FINGERPRINT = 'bf:ac:24:09:32:9d:51:bc:e6:3c:8e:11:10:f8:0c:02'
