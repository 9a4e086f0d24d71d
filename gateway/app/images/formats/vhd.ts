import type { Sample } from './format.ts'
import { refuse } from './refuse.ts'

const FOOTER_BYTES = 512
const FIXED = 2
const DYNAMIC = 3

/** The disk size a VHD footer (or its copy in front) declares. Throws `invalid` for a differencing disk. */
export function inspectVhd(sample: Sample): number {
  const footers = [sample.head.subarray(0, FOOTER_BYTES), sample.tail].filter(
    (footer) => footer.length === FOOTER_BYTES && footer.toString('latin1', 0, 8) === 'conectix',
  )
  if (footers.length === 0) refuse('vhd', 'its footer is missing')
  // Every copy is checked: which one a reader trusts differs between readers.
  for (const footer of footers) {
    const type = footer.readUInt32BE(60)
    if (type !== FIXED && type !== DYNAMIC) refuse('vhd', 'it depends on a parent image')
  }
  return Math.max(...footers.map((footer) => Number(footer.readBigUInt64BE(48))))
}
