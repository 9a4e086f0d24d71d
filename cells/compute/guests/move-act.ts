import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { HostMoveAct } from '#openapi/wire/act.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'
import { instanceSpec } from './instance-spec.ts'

interface MoveOptions {
  readonly graceMs: number
  /** False: the guest is off or paused afterwards. */
  readonly runs: boolean
}

/** The outcome of a host's part in a move. */
export interface Moved {
  /** Absent: as it was. */
  readonly powerState?: PowerState
  /** For the other host. */
  readonly peerInfo?: string
}

/** Does a host's part in a change of host. */
export async function moveAct(
  { driver }: Compute,
  id: InstanceId,
  asked: HostMoveAct,
  { graceMs, runs }: MoveOptions,
  signal: AbortSignal,
): Promise<Moved> {
  const move = driverPart(driver, 'move')
  const powerState = runs ? 'running' : 'shutdown'
  switch (asked.name) {
    case 'pack':
      await move.pack(id, graceMs, signal)
      return { powerState: 'shutdown' }
    case 'unpack':
      await move.unpack(id, runs, signal)
      return { powerState }
    case 'arrive':
      await move.arrive(instanceSpec(id, asked.build), runs, signal)
      return { powerState }
    case 'evacuate':
      await move.evacuate(
        instanceSpec(id, asked.build),
        { runs, sourceIsOff: asked.sourceIsOff },
        signal,
      )
      return { powerState }
    case 'announce':
      return { peerInfo: await driverPart(driver, 'liveMove').announce(id, signal) }
    case 'expect': {
      const spec = instanceSpec(id, asked.build)
      return {
        peerInfo: await driverPart(driver, 'liveMove').expect(spec, asked.announced, signal),
      }
    }
    case 'send':
      await driverPart(driver, 'liveMove').send(id, asked.expected, signal)
      return {}
    case 'finish':
    case 'land':
      await driverPart(driver, 'liveMove').finish(instanceSpec(id, asked.build), runs, signal)
      return {}
  }
}
