import type { Bmc } from './bmc.ts'
import { COMPLETIONS, isRefusal } from './bmc-failure.ts'
import { NET_FUNCTIONS } from './message.ts'

/** An event that a machine noted of itself (IPMI 2.0, 32.1). */
export interface MachineEvent {
  /** Undefined while the BMC did not know the time. */
  readonly at: Date | undefined
  readonly sensorType: number
  readonly sensorNumber: number
  /** False: what was the matter is no longer so. */
  readonly isAsserted: boolean
  /** What happened, in the sensor's own terms. */
  readonly data: Buffer
}

/** IPMI 2.0, 31.5. */
const GET_ENTRY = 0x43
const FIRST_ENTRY = 0
const LAST_ENTRY = 0xffff
const ENTRIES_MAX = 10_000
const SYSTEM_EVENT = 0x02
const IS_DEASSERTED = 0x80
/** Times before it count from the BMC's own start. */
const TIME_MIN_S = 0x20000000
const ENTRY_BYTES = 16

/** The newest `max` events, the oldest first. */
export async function readEventLog(
  bmc: Bmc,
  max: number,
  signal: AbortSignal,
): Promise<readonly MachineEvent[]> {
  const events: MachineEvent[] = []
  let id = FIRST_ENTRY
  for (let read = 0; id !== LAST_ENTRY && read < ENTRIES_MAX; read += 1) {
    const answer = await readEntry(bmc, id, signal)
    if (answer === undefined) break
    const event = eventOf(answer.subarray(2))
    if (event !== undefined) events.push(event)
    if (events.length > max) events.shift()
    id = answer.readUInt16LE()
  }
  return events
}

/** Undefined in an empty log. */
async function readEntry(bmc: Bmc, id: number, signal: AbortSignal): Promise<Buffer | undefined> {
  const data = Buffer.from([0, 0, id & 0xff, id >> 8, 0, 0xff])
  try {
    return await bmc.command({ netFunction: NET_FUNCTIONS.storage, code: GET_ENTRY, data }, signal)
  } catch (error) {
    if (isRefusal(error, COMPLETIONS.notPresent)) return undefined
    throw error
  }
}

/** Undefined for a vendor's own kinds of entries. */
function eventOf(entry: Buffer): MachineEvent | undefined {
  if (entry.length < ENTRY_BYTES || entry[2] !== SYSTEM_EVENT) return undefined
  const seconds = entry.readUInt32LE(3)
  return {
    at: seconds < TIME_MIN_S ? undefined : new Date(seconds * 1_000),
    sensorType: entry.readUInt8(10),
    sensorNumber: entry.readUInt8(11),
    isAsserted: (entry.readUInt8(12) & IS_DEASSERTED) === 0,
    data: entry.subarray(13, ENTRY_BYTES),
  }
}
