import type { Rescue } from '../driver.ts'
import type { FakeHost } from './host.ts'
import { refuseRealImage } from './spawn.ts'

export function fakeRescue(host: FakeHost): Rescue {
  return {
    rescue: async (id, { image }, signal) => {
      refuseRealImage(image)
      return host.change('rescue', id, signal, () => {
        const guest = host.guests.get(id)
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
