import type { Handlers } from '../../../http/operation.ts'
import { createAssistedSnapshot } from './create-assisted-snapshot.ts'
import { deleteAssistedSnapshot } from './delete-assisted-snapshot.ts'

export const assistedSnapshotHandlers: Handlers = { createAssistedSnapshot, deleteAssistedSnapshot }
