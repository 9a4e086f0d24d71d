import { expect, test } from 'vitest'
import { sensorRecord, sensorValue } from './sensor-record.ts'

/** A record of a temperature; the rest of what it says is of no concern here. */
function record(changes: Readonly<Record<number, number>> = {}): Buffer {
  const bytes = Buffer.alloc(48 + 6)
  const plain = { 3: 1, 6: 2, 7: 9, 21: 1, 24: 1, 47: 0xc6 }
  for (const [at, byte] of Object.entries({ ...plain, ...changes })) bytes[Number(at)] = byte
  bytes.write('CPU #1', 48)
  return bytes
}

const scaleOf = (changes: Readonly<Record<number, number>>) => sensorRecord(record(changes))!.scale

test('sensorRecord() reads the name, number and unit of a sensor, and skips other records', () => {
  expect(sensorRecord(record())).toMatchObject({ name: 'CPU #1', number: 9, lun: 2, unit: '°C' })
  expect(sensorRecord(record({ 21: 92, 47: 0x06 }))).toMatchObject({ name: 'sensor 9', unit: null })
  expect(sensorRecord(record({ 3: 0x12 }))).toBeUndefined()
  expect(sensorRecord(record().subarray(0, 20))).toBeUndefined()
})

test.each([
  ['as it is', {}, 96, 96],
  ['in 60ths of a volt', { 24: 167, 29: 0xc0 }, 200, 3.34],
  ['below zero in two’s complement', { 20: 0x80 }, 0xf6, -10],
  ['below zero in one’s complement', { 20: 0x40 }, 0xf5, -10],
  ['with a multiplier of ten bits, below zero', { 24: 0xfe, 25: 0xc0 }, 5, -10],
  ['with an offset in tens', { 26: 3, 29: 0x01 }, 5, 35],
  ['as a reciprocal', { 23: 7 }, 4, 0.25],
  ['as what only the maker knows', { 23: 0x70 }, 4, null],
  ['as nothing that is analog', { 20: 0xc0 }, 4, null],
])('sensorValue() reads %s', (_, changes, raw, value) => {
  expect(sensorValue(raw, scaleOf(changes))).toBe(value)
})
