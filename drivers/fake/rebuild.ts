import type { Rebuild } from '../driver.ts'
import { type Rescue, refuseUnstable } from '../rescue.ts'
import { withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { hardwareOf, refuseRealImage } from './spawn.ts'
import { rootVolumeOf } from './volumes.ts'

export function fakeRebuild(host: FakeHost): Rebuild {
  return {
    async rebuild(spec, { runs, reimages = false }, signal) {
      refuseRealImage(spec.image)
      await host.changeSlowly('rebuild', spec.id, signal, () => {
        const { displayName, hostname } = spec
        const before = host.guests.get(spec.id)
        const root = rootVolumeOf(before)
        if (root !== undefined && reimages)
          host.volumeFolder?.reimage(root.id, spec.image, root.attachmentId)
        const hardware = { ...hardwareOf(spec), macAddresses: before.hardware.macAddresses }
        const guest = { ...before, displayName, hardware, image: spec.image.name }
        const from = root === undefined || reimages ? `image ${spec.image.name}` : 'its volume'
        const line = `rebuilt ${displayName} (${hostname}) from ${from}`
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
        if (guest.isRescued === true) return
        if (rootVolumeOf(guest) !== undefined) refuseUnstable(id, image)
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
