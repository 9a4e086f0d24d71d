import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { ImageCopies } from '../image-copies.ts'
import type { DiskChanges, Snapshot } from '../snapshot.ts'
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

/** The second image of a simulated disk holds a line that names the first. */
export function fakeDiskChanges(host: FakeHost): DiskChanges {
  const stateOf = (id: InstanceId) => {
    const guest = host.guests.get(id)
    refuseRootVolume(guest)
    return guest
  }
  return {
    begin: (id, signal) =>
      host.changeSlowly('beginChanges', id, signal, () => {
        const { displayName, image, powerState } = stateOf(id)
        if (powerState === 'shutdown') throw new Failure('conflict', `Instance ${id} does not run.`)
        host.noted.add(id)
        return simulatedDisk(`fake disk of ${displayName}, made from ${image}, uuid ${id}`)
      }),
    take: (id, signal) =>
      host.changeSlowly('takeChanges', id, signal, () => {
        const { displayName, powerState } = stateOf(id)
        if (powerState !== 'shutdown') throw new Failure('conflict', `Instance ${id} still runs.`)
        if (!host.noted.has(id))
          throw new Failure('conflict', `It is not known what instance ${id} has written.`)
        return simulatedDisk(`fake changes of ${displayName}, uuid ${id}`)
      }),
    forget: (id, signal) =>
      host.change('forgetChanges', id, signal, () => {
        stateOf(id)
        host.noted.delete(id)
      }),
  }
}

/** The images that the simulated host has booted, or was to fetch. */
export function fakeImageCopies(host: FakeHost): ImageCopies {
  return {
    find: ({ sha256 }, signal) =>
      host.faulty('imageCopies', undefined, signal, () => host.images.get(sha256)),
    fetch: ({ sha256, sizeBytes }, signal) =>
      host.faulty('fetchImage', undefined, signal, () => {
        host.images.set(sha256, { name: null, sizeBytes })
      }),
  }
}
