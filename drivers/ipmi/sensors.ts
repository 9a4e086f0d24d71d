import type { SensorReading } from '../nodes.ts'
import type { Bmc } from './bmc.ts'
import { BmcRefusal, COMPLETIONS, isRefusal } from './bmc-failure.ts'
import { NET_FUNCTIONS } from './message.ts'
import { type SensorRecord, sensorRecord, sensorValue } from './sensor-record.ts'

/** IPMI 2.0, 33.11, 33.12 and 35.14. */
const RESERVE = 0x22
const GET_RECORD = 0x23
const GET_READING = 0x2d
const HEADER_BYTES = 5
/** Answers must fit the smallest BMC's buffer. */
const CHUNK_BYTES = 16
const LAST_RECORD = 0xffff
const RECORDS_MAX = 1_000
/** Another program that writes to the records cancels the reservation. */
const RESERVATIONS_MAX = 3
const IS_UNAVAILABLE = 0x20
const IS_SCANNING = 0x40

/** The present readings of the machine's sensors. */
export async function readSensors(
  bmc: Bmc,
  signal: AbortSignal,
): Promise<readonly SensorReading[]> {
  const readings: SensorReading[] = []
  for (const record of await readRecords(bmc, signal)) {
    const { name, unit } = record
    readings.push({ name, unit, value: await readValue(bmc, record, signal) })
  }
  return readings
}

async function readRecords(bmc: Bmc, signal: AbortSignal): Promise<readonly SensorRecord[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await readReserved(bmc, signal)
    } catch (error) {
      const isLost = isRefusal(error, COMPLETIONS.reservationLost)
      if (!isLost || tries === RESERVATIONS_MAX) throw error
    }
  }
}

async function readReserved(bmc: Bmc, signal: AbortSignal): Promise<readonly SensorRecord[]> {
  const reserve = { netFunction: NET_FUNCTIONS.storage, code: RESERVE }
  const reservation = (await bmc.command(reserve, signal)).readUInt16LE()
  const records: SensorRecord[] = []
  let id = 0
  for (let read = 0; id !== LAST_RECORD && read < RECORDS_MAX; read += 1) {
    const { record, next } = await readRecord(bmc, { reservation, id }, signal)
    const sensor = sensorRecord(record)
    if (sensor !== undefined) records.push(sensor)
    id = next
  }
  return records
}

/** The header says how long the record is. */
async function readRecord(
  bmc: Bmc,
  place: { readonly reservation: number; readonly id: number },
  signal: AbortSignal,
): Promise<{ readonly record: Buffer; readonly next: number }> {
  const part = async (offset: number, bytes: number) => {
    const data = Buffer.alloc(6)
    data.writeUInt16LE(place.reservation)
    data.writeUInt16LE(place.id, 2)
    data.set([offset, bytes], 4)
    return bmc.command({ netFunction: NET_FUNCTIONS.storage, code: GET_RECORD, data }, signal)
  }
  const head = await part(0, HEADER_BYTES)
  const parts = [head.subarray(2)]
  const end = HEADER_BYTES + (head[2 + HEADER_BYTES - 1] ?? 0)
  for (let offset = HEADER_BYTES; offset < end; offset += CHUNK_BYTES)
    parts.push((await part(offset, Math.min(CHUNK_BYTES, end - offset))).subarray(2))
  return { record: Buffer.concat(parts), next: head.readUInt16LE() }
}

async function readValue(
  bmc: Bmc,
  { number, lun, scale }: SensorRecord,
  signal: AbortSignal,
): Promise<number | null> {
  const data = Buffer.from([number])
  const command = { netFunction: NET_FUNCTIONS.sensor, code: GET_READING, data, lun }
  try {
    const [raw = 0, flags = 0] = await bmc.command(command, signal)
    const isMeasured = (flags & IS_SCANNING) !== 0 && (flags & IS_UNAVAILABLE) === 0
    return isMeasured ? sensorValue(raw, scale) : null
  } catch (error) {
    if (error instanceof BmcRefusal) return null
    throw error
  }
}
