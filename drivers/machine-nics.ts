import { Failure } from '#common/errors.ts'
import type { InstanceId, PortId } from '#common/ids.ts'
import type { NicSpec } from './driver.ts'

/** Guests have the NICs of a machine, whose MAC addresses are fixed. */
export interface MachineNics {
  /** The MAC address of the NIC behind each of the instance's ports. Throws `not-found`. */
  macAddresses(
    id: InstanceId,
    ports: readonly MachinePort[],
    signal: AbortSignal,
  ): Promise<MachineNicMap>
}

/** The part of a port that decides which NIC it is. */
export type MachinePort = Pick<NicSpec, 'portId' | 'macAddress' | 'segment'>

export type MachineNicMap = ReadonlyMap<PortId, string>

/** Gives the ports a machine's NICs in their order. Throws `invalid` when it has fewer. */
export function inOrder(ports: readonly PortId[], macAddresses: readonly string[]): MachineNicMap {
  if (ports.length > macAddresses.length)
    throw new Failure(
      'invalid',
      `The server has ${ports.length} ports, and its machine has ${macAddresses.length} NICs.`,
    )
  return new Map(ports.map((port, nth) => [port, macAddresses[nth]!]))
}
