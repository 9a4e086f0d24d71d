import { Failure } from '#common/errors.ts'

/** Throws `invalid`, as Nova for a volume that no server has: there are none here. */
export function refuseAssistedSnapshot(volumeId: string): never {
  throw new Failure('invalid', `No volume Block Device Mapping with id ${volumeId}.`)
}

/** The volume that `delete_info` names. Throws `invalid` for text that is no JSON, and where it names no volume. */
export function volumeToDeleteFrom(text: string | undefined): string {
  if (text === undefined) throw new Failure('invalid', "'delete_info'")
  const volumeId = parsed(text)?.['volume_id']
  if (typeof volumeId !== 'string') throw new Failure('invalid', "'volume_id'")
  return volumeId
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    throw new Failure('invalid', 'delete_info is not JSON.')
  }
}
