-- A program key marked for mandatory rotation keeps working until its deadline; each answer says so.
-- Regenerating the token clears the mark.
ALTER TABLE programs
    ADD COLUMN key_rotation_marked_at timestamptz,
    ADD COLUMN key_rotation_rotate_by timestamptz,
    ADD CONSTRAINT key_rotation_is_whole
        CHECK ((key_rotation_marked_at IS NULL) = (key_rotation_rotate_by IS NULL));
