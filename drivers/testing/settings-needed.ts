import type { DriverName } from '../driver.ts'

/** What a driver cannot be made without. Nothing is at these addresses. */
export const SETTINGS_NEEDED: Readonly<
  Partial<Record<DriverName, Readonly<Record<string, string>>>>
> = {
  nested: {
    auth_url: 'https://cloud.invalid:5000',
    application_credential_id: 'id',
    application_credential_secret: 'secret',
    projects: 'any',
  },
}
