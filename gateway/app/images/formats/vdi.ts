import type { Sample } from './format.ts'
import { refuse } from './refuse.ts'

const HEADER_BYTES = 0x178
const DYNAMIC = 1
const FIXED = 2

/** The disk size a VDI header declares. Throws `invalid` for undo and differencing images, which have a parent. */
export function inspectVdi(sample: Sample): number {
  const { head } = sample
  if (head.length < HEADER_BYTES) refuse('vdi', 'its header is cut short')
  const type = head.readUInt32LE(0x4c)
  if (type !== DYNAMIC && type !== FIXED) refuse('vdi', 'it depends on a parent image')
  return Number(head.readBigUInt64LE(0x170))
}
