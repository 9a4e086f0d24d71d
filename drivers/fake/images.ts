import type { Snapshot } from '../driver.ts'
import type { ImageCopies } from '../image-copies.ts'
import type { FakeHost } from './host.ts'
import { simulatedDisk } from './simulated-disk.ts'
import { refuseRootVolume } from './volumes.ts'

/** A disk of a simulated guest holds a line that names it. */
export function fakeSnapshot(host: FakeHost): Snapshot {
  return {
    take: (id, signal) =>
      host.changeSlowly('snapshot', id, signal, () => {
        const guest = host.guests.get(id)
        refuseRootVolume(guest)
        const { displayName, image } = guest
        return simulatedDisk(`fake disk of ${displayName}, made from ${image}, uuid ${id}`)
      }),
  }
}

/** The images that the simulated host has booted. */
export function fakeImageCopies(host: FakeHost): ImageCopies {
  return {
    find: ({ sha256 }, signal) =>
      host.faulty('imageCopies', undefined, signal, () => host.images.get(sha256)),
  }
}
