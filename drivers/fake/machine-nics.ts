import { createHash } from 'node:crypto'
import type { InstanceId } from '#common/ids.ts'
import { inOrder, type MachineNics } from '../machine-nics.ts'
import type { FakeHost } from './host.ts'

const NICS = 8

/** Of machines that are told apart by their guests alone. */
export function fakeMachineNics(host: FakeHost): MachineNics {
  return {
    macAddresses: (id, ports, signal) =>
      host.faulty('machineNics', host.target(id), signal, () =>
        inOrder(ports, macAddressesOf(host.guests.get(id).id)),
      ),
  }
}

function macAddressesOf(id: InstanceId): readonly string[] {
  const digits = createHash('sha256').update(id).digest('hex').slice(0, 8)
  const tail = digits.match(/../g)!.join(':')
  return Array.from({ length: NICS }, (_, nth) => `52:${tail}:0${nth}`)
}
