import { Failure, isFailure } from '#common/errors.ts'
import type { PortId } from '#common/ids.ts'
import type { MachineNicMap } from '../machine-nics.ts'
import type { IronicHost } from './host.ts'
import { givenNics } from './machine-nics.ts'

/**
 * Afterwards the ports are attached to the node, where its network interface does more than nothing; returned is which NICs
 * they are. Throws `invalid` when it has too few, `internal` when ironic refuses.
 */
export async function attachVifs(
  { client }: IronicHost,
  uuid: string,
  ports: readonly PortId[],
  signal: AbortSignal,
): Promise<MachineNicMap> {
  givenNics(ports, await client.nics(uuid, signal))
  const attached = await client.vifs(uuid, signal)
  for (const port of ports.filter((each) => !attached.includes(each)))
    await client.attachVif(uuid, port, signal).catch((cause: unknown) => {
      if (isFailure(cause, 'unavailable') || signal.aborted) throw cause
      throw new Failure('internal', 'Ironic did not attach the server’s ports to its machine.', {
        cause,
      })
    })
  return givenNics(ports, await client.nics(uuid, signal))
}

/** Afterwards no port is attached to the node. Those of a server that ran ironic has detached by itself. */
export async function detachVifs(
  { client }: IronicHost,
  uuid: string,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await client.vifs(uuid, signal))
    await client.detachVif(uuid, id, signal).catch((error: unknown) => {
      // A VIF that was detached in the meantime is not attached.
      if (!isFailure(error, 'invalid', 'not-found')) throw error
    })
}
