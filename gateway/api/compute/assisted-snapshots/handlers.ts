import { createAssistedSnapshot } from './create-assisted-snapshot.ts'
import { deleteAssistedSnapshot } from './delete-assisted-snapshot.ts'

export const assistedSnapshotHandlers = { createAssistedSnapshot, deleteAssistedSnapshot }
