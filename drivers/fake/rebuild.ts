import type { Rebuild } from '../driver.ts'
import { withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { hardwareOf, refuseRealImage } from './spawn.ts'

export function fakeRebuild(host: FakeHost): Rebuild {
  return {
    async rebuild(spec, { runs }, signal) {
      refuseRealImage(spec.image)
      await host.changeSlowly('rebuild', spec.id, signal, () => {
        const { displayName, hostname } = spec
        const before = host.guests.get(spec.id)
        const hardware = { ...hardwareOf(spec), macAddresses: before.hardware.macAddresses }
        const guest = { ...before, displayName, hardware, image: spec.image.name }
        const line = `rebuilt ${displayName} (${hostname}) from image ${spec.image.name}`
        host.guests.put(withEvent(guest, runs ? 'running' : 'shutdown', line))
      })
    },
  }
}
