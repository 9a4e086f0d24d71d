/** The prefix of MAC addresses that the cloud makes up, as in other OpenStack deployments: no machine has it. */
export const GENERATED_MAC_PREFIX = 'fa:16:3e'

/** True for an address that the cloud made up, or that a user chose from the same range. */
export function isGeneratedMac(macAddress: string): boolean {
  return macAddress.toLowerCase().startsWith(`${GENERATED_MAC_PREFIX}:`)
}
