import type { InstanceId } from '#common/ids.ts'
import type { PassthroughAttributes } from './passthrough-attributes.ts'

export interface Labels {
  /**
   * Afterwards the backend shows the instance so. False for one that is not there or is busy, which has to be told again.
   * What was never ours to name, such as metadata of an instance that was taken in, stays.
   */
  apply(id: InstanceId, labels: InstanceLabels, signal: AbortSignal): Promise<boolean>
}

/** The names and labels that a user gives an instance, for backends that show them to others. */
export interface InstanceLabels
  extends Omit<PassthroughAttributes, 'hints' | 'trustedCertificates'> {
  readonly name: string
  readonly hostname: string
  readonly metadata: Readonly<Record<string, string>>
}
