import { expect, test } from 'vitest'
import { nestedSettings } from './settings.ts'

const CLOUD = {
  auth_url: 'https://cloud.example',
  application_credential_id: 'id',
  application_credential_secret: 'secret',
  projects: 'any',
}

test('an operator sets the resources that a cloud does not report', () => {
  expect(nestedSettings(CLOUD).resources.size).toBe(0)
  const { resources } = nestedSettings({ ...CLOUD, resources: 'PCPU=64,CUSTOM_GPU=2' })

  expect(Object.fromEntries(resources)).toEqual({ PCPU: 64, CUSTOM_GPU: 2 })
  expect(() => nestedSettings({ ...CLOUD, resources: 'GPU=2' })).toThrow('resources: GPU=2')
})
