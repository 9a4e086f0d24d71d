import { expect, test } from 'vitest'
import type { Session } from '../api/session.ts'
import { verifyEntry } from './verify-entry.ts'

test('settings that are wrong are all named before the cloud is asked', async () => {
  const settings = { auth_url: 'https://cloud.example', nonsense: '1', poll_ms: 'soon' }
  const login = { application_credential_id: 'id', application_credential_secret: 'secret' }

  const verifying = verifyEntry({} as Session, { login, settings })

  await expect(verifying).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringMatching(/--set[^]*projects is not set[^]*poll_ms[^]*nonsense/),
  })
})
