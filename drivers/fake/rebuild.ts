import type { Rebuild } from '../driver.ts'
import type { Rescue } from '../rescue.ts'
import { withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { hardwareOf, refuseRealImage } from './spawn.ts'
import { refuseRootVolume } from './volumes.ts'

export function fakeRebuild(host: FakeHost): Rebuild {
  return {
    async rebuild(spec, { runs }, signal) {
      refuseRealImage(spec.image)
      await host.changeSlowly('rebuild', spec.id, signal, () => {
        const { displayName, hostname } = spec
        const before = host.guests.get(spec.id)
        refuseRootVolume(before)
        const hardware = { ...hardwareOf(spec), macAddresses: before.hardware.macAddresses }
        const guest = { ...before, displayName, hardware, image: spec.image.name }
        const line = `rebuilt ${displayName} (${hostname}) from image ${spec.image.name}`
        host.guests.put(withEvent(guest, runs ? 'running' : 'shutdown', line))
      })
    },
  }
}

export function fakeRescue(host: FakeHost): Rescue {
  return {
    rescue: async (id, { image }, signal) => {
      refuseRealImage(image)
      return host.change('rescue', id, signal, () => {
        const guest = host.guests.get(id)
        refuseRootVolume(guest)
        if (guest.isRescued === true) return
        host.guests.put({ ...guest, isRescued: true })
        host.setPower(id, 'running', `rescued with image ${image.name}`)
      })
    },
    unrescue: (id, signal) =>
      host.change('unrescue', id, signal, () => {
        const { isRescued = false, ...guest } = host.guests.get(id)
        if (!isRescued) return
        host.guests.put(guest)
        host.setPower(id, 'running', 'unrescued')
      }),
  }
}
