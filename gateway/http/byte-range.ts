import { HttpRefusal } from './http-refusal.ts'

/** Positions of the first and the last byte. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * The one range that a Range header names of so many bytes, cut at their end; undefined for all of them. Refuses
 * malformed ranges and those beyond the end with 416, as Glance does.
 */
export function byteRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  if (header === undefined) return undefined
  const [, from = '', to = ''] = RANGE.exec(header.replaceAll(' ', '')) ?? []
  const range = from === '' ? suffix(to, sizeBytes) : between(from, to, sizeBytes)
  if (range !== undefined && range.first <= range.last) return range
  throw new HttpRefusal(416, `The range ${header} is not within ${sizeBytes} bytes.`)
}

function between(from: string, to: string, sizeBytes: number): ByteRange {
  const last = to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1)
  return { first: Number(from), last }
}

function suffix(length: string, sizeBytes: number): ByteRange | undefined {
  if (length === '') return undefined
  return { first: Math.max(sizeBytes - Number(length), 0), last: sizeBytes - 1 }
}
