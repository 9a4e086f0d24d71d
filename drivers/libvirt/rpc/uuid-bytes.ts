/** A dashed UUID as the sixteen bytes libvirt sends and expects. */
export function uuidBytes(uuid: string): Uint8Array {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex')
  if (bytes.length !== 16) throw new Error(`not a UUID: ${uuid}`)
  return bytes
}

/** The dashed UUID of sixteen bytes. */
export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
