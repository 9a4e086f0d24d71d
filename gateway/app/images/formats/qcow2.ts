import type { Sample } from './format.ts'
import { refuse } from './refuse.ts'

const HEADER_V2_BYTES = 72
const HEADER_V3_BYTES = 104
const CLUSTER_BITS_MIN = 9
const CLUSTER_BITS_MAX = 21

/** Incompatible feature bits a guest image may have: dirty, corrupt, (not data file), compression type, subclusters. */
const DATA_FILE_BIT = 1n << 2n
const KNOWN_BITS = 0b11111n

const EXTENSIONS_MAX = 64
const EXTENSION_END = 0
const EXTENSION_BACKING_FORMAT = 0xe2792aca
const EXTENSION_DATA_FILE = 0x44415441

/**
 * The virtual size a QCOW2 header declares. Throws `invalid` for anything that makes QEMU open another file
 * (OSSA-2015-011 backing file, OSSA-2024-001 external data file) or that it cannot open without a secret.
 */
export function inspectQcow2(sample: Sample): number {
  const { head } = sample
  if (head.length < HEADER_V2_BYTES) refuse('qcow2', 'its header is cut short')
  const version = head.readUInt32BE(4)
  if (version !== 2 && version !== 3) refuse('qcow2', `its version is ${version}, not 2 or 3`)
  if (head.readBigUInt64BE(8) !== 0n || head.readUInt32BE(16) !== 0)
    refuse('qcow2', 'it has a backing file')
  const clusterBits = head.readUInt32BE(20)
  if (clusterBits < CLUSTER_BITS_MIN || clusterBits > CLUSTER_BITS_MAX)
    refuse('qcow2', 'its cluster size is out of range')
  if (head.readUInt32BE(32) !== 0) refuse('qcow2', 'it is encrypted')
  const headerBytes = version === 2 ? HEADER_V2_BYTES : inspectFeatures(head)
  inspectExtensions(head.subarray(0, 2 ** clusterBits), headerBytes)
  return Number(head.readBigUInt64BE(24))
}

function inspectFeatures(head: Buffer): number {
  if (head.length < HEADER_V3_BYTES) refuse('qcow2', 'its header is cut short')
  const incompatible = head.readBigUInt64BE(72)
  if ((incompatible & DATA_FILE_BIT) !== 0n) refuse('qcow2', 'it has an external data file')
  if ((incompatible & ~KNOWN_BITS) !== 0n) refuse('qcow2', 'it uses unknown features')
  const headerBytes = head.readUInt32BE(100)
  if (headerBytes < HEADER_V3_BYTES || headerBytes % 8 !== 0)
    refuse('qcow2', 'its header length is wrong')
  return headerBytes
}

/** Header extensions are (type, length, data padded to 8) up to type 0 or the end of the first cluster. */
function inspectExtensions(cluster: Buffer, start: number): void {
  let at = start
  for (let count = 0; at + 8 <= cluster.length; count += 1) {
    const type = cluster.readUInt32BE(at)
    if (type === EXTENSION_END) return
    if (type === EXTENSION_DATA_FILE) refuse('qcow2', 'it names an external data file')
    if (type === EXTENSION_BACKING_FORMAT) refuse('qcow2', 'it has a backing file')
    if (count === EXTENSIONS_MAX) refuse('qcow2', 'it has too many header extensions')
    at += 8 + Math.ceil(cluster.readUInt32BE(at + 4) / 8) * 8
  }
}
