import type { InstanceId } from '#common/ids.ts'
import type { PassthroughAttributes } from './passthrough-attributes.ts'

export interface Labels {
  /**
   * Afterwards the backend shows the instance with these labels. False for an instance that is missing or busy; its
   * labels must be sent again. Metadata that Weir never set, such as that of an adopted instance, stays.
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
