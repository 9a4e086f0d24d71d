/**
 * Glance's states that are used here. `queued`: no content yet; `saving`: an upload runs; `uploading`: content was
 * staged, or is on its way there; `importing`: staged or remote content is being looked at and taken.
 */
export const IMAGE_STATUSES = [
  'queued',
  'saving',
  'uploading',
  'importing',
  'active',
  'deactivated',
] as const
export type ImageStatus = (typeof IMAGE_STATUSES)[number]

export const IMAGE_VISIBILITIES = ['public', 'private', 'shared', 'community'] as const
export type ImageVisibility = (typeof IMAGE_VISIBILITIES)[number]

/** The answer of a project to an image that was shared with it; only accepted images are in its lists. */
export const IMAGE_MEMBER_STATUSES = ['pending', 'accepted', 'rejected'] as const
export type ImageMemberStatus = (typeof IMAGE_MEMBER_STATUSES)[number]

/** How far an import has come. */
export const IMAGE_TASK_STATUSES = ['pending', 'processing', 'success', 'failure'] as const
export type ImageTaskStatus = (typeof IMAGE_TASK_STATUSES)[number]
