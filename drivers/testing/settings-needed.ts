import type { DriverName } from '../driver.ts'

/** The required settings of each driver. No service listens at these addresses. */
export const SETTINGS_NEEDED: Readonly<
  Partial<Record<DriverName, Readonly<Record<string, string>>>>
> = {
  baremetal: {
    boot_url: 'http://boot.invalid',
    boot_address: '127.0.0.1',
    boot_port: '0',
    ramdisk_kernel: '/kernel',
    ramdisk_initrd: '/initrd',
    secret_key: '0'.repeat(64),
  },
  ironic: {
    url: 'http://ironic.invalid:6385',
    image_url: 'http://images.invalid',
    image_address: '127.0.0.1',
    image_port: '0',
  },
  nested: {
    auth_url: 'https://cloud.invalid:5000',
    application_credential_id: 'id',
    application_credential_secret: 'secret',
    projects: 'any',
  },
}
