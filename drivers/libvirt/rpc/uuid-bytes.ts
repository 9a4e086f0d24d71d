/** A dashed UUID as the sixteen bytes libvirt sends and expects. */
export function uuidBytes(uuid: string): Uint8Array {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex')
  if (bytes.length !== 16) throw new Error(`not a UUID: ${uuid}`)
  return bytes
}
