/** How a sensor's readings are to be understood, from its record (IPMI 2.0, 43.1). */
export interface SensorRecord {
  readonly name: string
  readonly number: number
  readonly lun: number
  /** Null for one that IPMI has more words for than a sensor needs. */
  readonly unit: string | null
  readonly scale: SensorScale
}

/** value = linearized((multiplier × raw + offset × 10^offsetExponent) × 10^exponent) */
export interface SensorScale {
  readonly format: number
  readonly multiplier: number
  readonly offset: number
  readonly offsetExponent: number
  readonly exponent: number
  readonly linearization: number
}

const FULL_RECORD = 0x01
const NAME_AT = 47
const NAME_IS_TEXT = 3

/** IPMI 2.0, table 43-15. */
const UNITS: Readonly<Record<number, string>> = {
  1: '°C',
  2: '°F',
  3: 'K',
  4: 'V',
  5: 'A',
  6: 'W',
  7: 'J',
  18: 'rpm',
  19: 'Hz',
}

const LINEARIZATIONS: readonly ((value: number) => number)[] = [
  (value) => value,
  Math.log,
  Math.log10,
  Math.log2,
  Math.exp,
  (value) => 10 ** value,
  (value) => 2 ** value,
  (value) => 1 / value,
  (value) => value ** 2,
  (value) => value ** 3,
  Math.sqrt,
  Math.cbrt,
]

/** Undefined for a record that is not of a sensor that measures something. */
export function sensorRecord(record: Buffer): SensorRecord | undefined {
  if (record.length <= NAME_AT || record[3] !== FULL_RECORD) return undefined
  const nameBytes = record.readUInt8(NAME_AT)
  const name = record.subarray(NAME_AT + 1, NAME_AT + 1 + (nameBytes & 0x1f))
  const number = record.readUInt8(7)
  return {
    name: nameBytes >> 6 === NAME_IS_TEXT ? name.toString('latin1') : `sensor ${number}`,
    number,
    lun: record.readUInt8(6) & 0x03,
    unit: UNITS[record.readUInt8(21)] ?? null,
    scale: {
      format: record.readUInt8(20) >> 6,
      multiplier: signed(record.readUInt8(24) | ((record.readUInt8(25) & 0xc0) << 2), 10),
      offset: signed(record.readUInt8(26) | ((record.readUInt8(27) & 0xc0) << 2), 10),
      offsetExponent: signed(record.readUInt8(29) & 0x0f, 4),
      exponent: signed(record.readUInt8(29) >> 4, 4),
      linearization: record.readUInt8(23) & 0x7f,
    },
  }
}

/** What a raw reading means; null where the record does not tell. */
export function sensorValue(raw: number, scale: SensorScale): number | null {
  const linearize = LINEARIZATIONS[scale.linearization]
  const reading = [raw, raw > 127 ? raw - 255 : raw, signed(raw, 8)][scale.format]
  if (linearize === undefined || reading === undefined) return null
  const { multiplier, offset, offsetExponent, exponent } = scale
  const linear = (multiplier * reading + offset * 10 ** offsetExponent) * 10 ** exponent
  const value = linearize(linear)
  // Multiplying by powers of ten leaves digits that no sensor has.
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null
}

function signed(value: number, bits: number): number {
  return value >= 2 ** (bits - 1) ? value - 2 ** bits : value
}
