import type { InstanceId } from '#common/ids.ts'

export interface Password {
  /** Afterwards it is the password of the guest's administrator. Throws `conflict` when no agent in the guest answers. */
  set(id: InstanceId, password: string, signal: AbortSignal): Promise<void>
}
