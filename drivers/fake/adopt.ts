import { Failure } from '#common/errors.ts'
import type { Adopt } from '../adopt.ts'
import { withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { hardwareOf } from './spawn.ts'

/** Takes in guests that a test has put there. */
export function fakeAdopt(host: FakeHost): Adopt {
  return {
    unmanagedGuests: (signal) =>
      host.faulty('unmanagedGuests', undefined, signal, () =>
        [...host.unmanagedGuests.values()].map((guest) => {
          const { hostNodes: _bound, ...shown } = guest
          return shown
        }),
      ),
    adopt: (spec, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        host.faulty('adopt', spec, lockSignal, () => {
          const { id, displayName, flavor, image } = spec
          const known = host.guests.find(id)
          if (known !== undefined) return known.powerState
          const unmanaged = host.unmanagedGuests.get(id)
          if (unmanaged === undefined)
            throw new Failure('not-found', `There is no guest ${id} on this host.`)
          const hardware = hardwareOf(spec)
          const { powerState } = unmanaged
          const { hostNodes } = unmanaged
          const bound = hostNodes && { hostNodes }
          const guest = {
            id,
            displayName,
            flavor,
            image: image.name,
            hardware,
            powerState,
            ...bound,
          }
          host.guests.put(withEvent({ ...guest, console: [] }, powerState, 'taken in'))
          host.unmanagedGuests.delete(id)
          return powerState
        }),
      ),
  }
}
