import { createHash } from 'node:crypto'
import type { InstanceId } from '#common/ids.ts'
import type { Interfaces } from '../driver.ts'
import { inOrder, type MachineNics } from '../machine-nics.ts'
import { withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'

/** Attached NICs are shown in a guest's diagnostics, and by a line on its console. */
export function fakeInterfaces(host: FakeHost): Interfaces {
  const replug = (id: InstanceId, macAddresses: readonly string[], line: string) => {
    const guest = host.guests.get(id)
    const hardware = { ...guest.hardware, macAddresses }
    host.guests.put(withEvent({ ...guest, hardware }, guest.powerState, line))
  }
  return {
    attach: (id, { macAddress }, signal) =>
      host.change('attachNic', id, signal, () => {
        const { macAddresses } = host.guests.get(id).hardware
        if (macAddresses.includes(macAddress)) return
        replug(id, [...macAddresses, macAddress], `nic ${macAddress} attached`)
      }),
    detach: (id, { macAddress }, signal) =>
      host.change('detachNic', id, signal, () => {
        const { macAddresses } = host.guests.get(id).hardware
        if (!macAddresses.includes(macAddress)) return
        const left = macAddresses.filter((mac) => mac !== macAddress)
        replug(id, left, `nic ${macAddress} detached`)
      }),
  }
}

const NICS = 8

/** For simulated machines, which differ only by their guests. */
export function fakeMachineNics(host: FakeHost): MachineNics {
  return {
    macAddresses: (id, ports, signal) =>
      host.faulty('machineNics', host.target(id), signal, () =>
        inOrder(
          ports.map(({ portId }) => portId),
          macAddressesOf(host.guests.get(id).id),
        ),
      ),
  }
}

function macAddressesOf(id: InstanceId): readonly string[] {
  const digits = createHash('sha256').update(id).digest('hex').slice(0, 8)
  const tail = digits.match(/../g)!.join(':')
  return Array.from({ length: NICS }, (_, nth) => `52:${tail}:0${nth}`)
}
