import { expect, test } from 'vitest'
import { baremetalSettings } from './settings.ts'

const needed = {
  boot_url: 'http://192.0.2.1:8480/',
  ramdisk_kernel: '/kernel',
  ramdisk_initrd: '/initrd',
  secret_key: 'ab'.repeat(32),
}

test('the boot server listens at the address in its URL by default', () => {
  expect(baremetalSettings(needed)).toMatchObject({
    bootAddress: '192.0.2.1',
    bootPort: 8480,
    cleaning: 'zero',
  })
  const elsewhere = { ...needed, boot_address: '127.0.0.1', boot_port: '81' }
  expect(baremetalSettings(elsewhere)).toMatchObject({ bootAddress: '127.0.0.1', bootPort: 81 })
})

test.each([
  [{ boot_url: 'https://192.0.2.1' }, /boot_url/],
  [{ boot_url: 'nonsense' }, /boot_url/],
  [{ secret_key: 'short' }, /secret_key/],
  [{ secret_key_file: '/no/such/file' }, /secret_key_file/],
  [{ cleaning: 'later' }, /cleaning/],
  [{ kernel_append_params: 'quiet\nshell' }, /kernel_append_params/],
  [{ network: 'neutron' }, /network/],
  [{ provisioning_network: 'boot' }, /network=ovn/],
  [{ ovs_database: 'unix:/run/db.sock' }, /network=ovn/],
])('settings with %j are refused', (wrong, message) => {
  expect(() => baremetalSettings({ ...needed, ...wrong })).toThrow(message)
})
