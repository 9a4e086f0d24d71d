import type { InstanceSpec } from '../../driver.ts'

export const DESCRIPTION_SINCE = '2.19'
export const TRUSTED_SINCE = '2.63'

/** Without one a server is described by its name until 2.19, and by nothing since. */
export function hasDescription({ remarks }: Pick<InstanceSpec, 'remarks'>): boolean {
  return (remarks?.description ?? null) !== null
}

/** The fields of a server that every create repeats. */
export function remarksBody({ remarks }: Pick<InstanceSpec, 'remarks'>): object {
  if (remarks === undefined) return {}
  const { description, diskConfig, accessIPv4, accessIPv6, trustedCertificates } = remarks
  return {
    'OS-DCF:diskConfig': diskConfig,
    ...(description === null ? {} : { description }),
    ...(accessIPv4 === null ? {} : { accessIPv4 }),
    ...(accessIPv6 === null ? {} : { accessIPv6 }),
    ...(trustedCertificates !== undefined && { trusted_image_certificates: trustedCertificates }),
  }
}
